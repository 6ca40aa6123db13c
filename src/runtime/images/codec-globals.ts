/**
 * Takes away what the codecs of `@jsquash` leave in the process when they start: a `location` without an address. By it
 * other packages take the process for a browser and fail to load.
 */
export function forgetCodecLocation(): void {
  const { location } = globalThis as { readonly location?: { readonly href?: unknown } };
  if (location?.href === "") Reflect.deleteProperty(globalThis, "location");
}
