/** Levenshtein distance: how many letters must be inserted, deleted or replaced to make one text of the other. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = at(row, j) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, at(row, j + 1) + 1, at(next, j) + 1));
    }
    row = next;
  }
  return row.at(-1) as number;
}

function at(row: readonly number[], j: number): number {
  return row[j] as number;
}
