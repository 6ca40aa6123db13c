/** Undoes one thing; safe to call more than once. */
export type Undo = () => Promise<void>;

const steps: Undo[] = [];

/** Has a step done by `tearDown` if its returned function has not been called by then. */
export function onTearDown(step: () => Promise<void> | void): Undo {
  let done: Promise<void> | undefined;
  const undo = () => (done ??= Promise.resolve(step()));
  steps.push(undo);
  return undo;
}

/** Undoes what is left, the latest first. */
export async function tearDown(): Promise<void> {
  for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
    try {
      await step();
    } catch (error) {
      console.error(error);
    }
  }
}
