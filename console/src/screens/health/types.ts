/** What the gateway says of itself. */
export interface Status {
  readonly version: string;
  readonly started_at: number;
  readonly store: { readonly engine: string; readonly place: string; readonly files: string };
  readonly processes: number;
  readonly queue: { readonly pending: number; readonly running: number };
  readonly open_holds: number;
  readonly providers: readonly {
    readonly id: string;
    readonly live: boolean;
    readonly credentials: number;
    readonly sandbox: boolean;
  }[];
  readonly settings: Readonly<Record<string, unknown>>;
  readonly audit: { readonly last_run_at: number | null; readonly ok: boolean | null };
}
