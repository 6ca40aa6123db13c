import type { AnswerContext, RelayProtocol } from "../../protocols/protocol.ts";
import type { Dialect } from "../../providers/provider.ts";
import type { UpstreamCall } from "../../providers/upstream.ts";
import type { Admission } from "./admit.ts";
import type { Sendable } from "./attempts.ts";
import type { PreparedBody } from "./prepared-body.ts";

/** What a call needs of the form in which its provider is asked. */
export type CalledFormat = Pick<RelayProtocol, "upstreamPath" | "readRefusal">;

/** What a call needs of its admission. */
export interface CallAdmission<Format extends CalledFormat> extends Omit<
  Admission,
  "target" | "snapshot" | "amount" | "elastic" | "spoken" | "protocol"
> {
  readonly protocol: Format;
  readonly spoken: UpstreamCall["provider"] & {
    readonly dialect: Pick<Dialect, "kind"> & Partial<Pick<Dialect, "padding">>;
  };
}

/** What an answer is charged by. */
export interface CallTerms<Format extends CalledFormat> {
  readonly admission: CallAdmission<Format>;
  /** The output for each choice that the hold has room for here; absent: as much as was asked for. */
  readonly outputTokens: number | undefined;
}

/** A request as one way is sent it. */
export interface PreparedCall<Format extends CalledFormat> extends Sendable<PreparedCall<Format>> {
  readonly body: PreparedBody;
  readonly terms: CallTerms<Format>;
  /** What its answer is read against, beside its terms: who hears of it among others. */
  readonly reading: Pick<AnswerContext, "isFallback" | "keep" | "remember">;
}
