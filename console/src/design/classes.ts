/** Class names in one string; what is absent is left out. */
export function classes(...names: readonly (string | false | undefined)[]): string {
  return names.filter((name) => typeof name === "string").join(" ");
}
