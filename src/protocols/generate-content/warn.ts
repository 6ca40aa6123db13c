/** Takes a sentence about what could not be said, for the `warning` header. */
export type Warn = (sentence: string) => void;
