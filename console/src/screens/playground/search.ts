/** Members of the address of the playground: the model, and one to compare it with. */
export const PLAYGROUND_SEARCH = ["model", "model2"] as const;
