/**
 * What was read, as it came. A query keeps its data in a store, which walks through all of it anew for each place that
 * shows it. The store leaves instances of classes as they are. A year by model has thousands of rows, and models have
 * their schemas.
 */
class Whole<Data> {
  readonly data: Data;
  constructor(data: Data) {
    this.data = data;
  }
}

/** For `select` of queries whose rows are many, or have much in them. */
export function whole<Data>({ data }: { readonly data: Data }): Whole<Data> {
  return new Whole(data);
}
