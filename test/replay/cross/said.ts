import type { Json } from "../wire-json.ts";

/**
 * What a model said, piece by piece in its order, read from a provider's answer by the provider's reference and by
 * nothing of the gateway. `signature` alone is one that Gemini put on a text.
 */
export type Piece =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string; readonly signature: string }
  | { readonly kind: "redacted"; readonly data: string }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly name: string;
      readonly args: Json;
      readonly signature: string;
    }
  | { readonly kind: "image"; readonly mime: string; readonly data: string; readonly signature: string }
  | { readonly kind: "signature"; readonly signature: string }
  /** Code that ran, or what it printed: a chat has it as text, in words of our own. */
  | { readonly kind: "code"; readonly text: string };

/** One choice of an answer. */
export interface SaidChoice {
  readonly pieces: readonly Piece[];
  /** In the words of chat completions. */
  readonly finish: string;
  /** Addresses that the text rests on. */
  readonly cited: readonly string[];
}

/** A whole answer. */
export interface Said {
  readonly format: "anthropic-claude-v1" | "google-gemini-v1";
  readonly choices: readonly SaidChoice[];
  /** The provider's own usage; undefined where it told none. */
  readonly usage: Json;
  /** The provider refused the prompt, so there is no answer. */
  readonly blocked: boolean;
  /** The stream has an error in it. */
  readonly broke: boolean;
}

/** The joined texts of a kind. */
export function textOf(pieces: readonly Piece[], kind: "text" | "thinking"): string {
  return pieces.map((piece) => (piece.kind === kind ? piece.text : "")).join("");
}

/** The pieces of one kind. */
export function piecesOf<Kind extends Piece["kind"]>(
  pieces: readonly Piece[],
  kind: Kind,
): Extract<Piece, { readonly kind: Kind }>[] {
  return pieces.filter((piece): piece is Extract<Piece, { readonly kind: Kind }> => piece.kind === kind);
}
