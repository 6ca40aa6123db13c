/** The result of `work`, and how often other work ran meanwhile. */
export async function countTurns<Done>(
  work: () => Promise<Done>,
): Promise<{ readonly done: Done; readonly turns: number }> {
  let turns = 0;
  let isOver = false;
  const next = (): void => {
    turns += 1;
    if (!isOver) setImmediate(next);
  };
  setImmediate(next);
  try {
    return { done: await work(), turns };
  } finally {
    isOver = true;
  }
}
