/** Google's API has no such headers: a client learns of a limit by its 429, whose `details` say how long to wait. */
export function limitHeaders(): Readonly<Record<string, string>> {
  return {};
}
