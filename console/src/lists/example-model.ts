/** Of models that may be used the one for a first call: the gateway's `example`, else the first. */
export function exampleOf<Model extends { readonly id: string }>(
  models: readonly Model[],
  example: string,
): Model | undefined {
  return models.find(({ id }) => id === example) ?? models[0];
}
