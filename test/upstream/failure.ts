/** The text of the error a promise fails with; fails itself when the promise does not. */
export async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    return String(error);
  }
  throw new Error("expected a failure");
}
