/** 1, 2, 5, 10, 20, and so on, as the axes of charts have them. */
export const ROUND_VALUES: readonly number[] = Array.from(
  { length: 36 },
  (_, at) => ([1, 2, 5][at % 3] ?? 1) * 10 ** Math.floor(at / 3),
);
