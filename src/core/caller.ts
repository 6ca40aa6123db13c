/** Who makes a request: proof that a live key was shown. Only `Keys.authenticate` makes one. */
export interface Caller {
  readonly keyId: string;
  readonly accountId: string;
  /** Models this key may use; `null` for all. */
  readonly models: ReadonlySet<string> | null;
}
