import type { ProtocolId } from "../core/model.ts";
import { servedBy } from "../protocols/index.ts";
import type { RelayProtocol } from "../protocols/protocol.ts";

/** A format that a provider speaks, and the relay or translation that leads to it. */
export interface SpokenWay<Spoken> {
  readonly spoken: Spoken;
  readonly protocol: RelayProtocol;
}

/**
 * How a provider that speaks `protocols` serves clients of `asked`: a relay where it speaks that itself, else the first
 * translation there is. `only` are the formats that a route allows; absent: any. `undefined` where there is no way.
 */
export function wayTo<Spoken extends { readonly id: ProtocolId }>(
  asked: ProtocolId,
  protocols: readonly Spoken[],
  only?: readonly ProtocolId[],
): SpokenWay<Spoken> | undefined {
  let translation: SpokenWay<Spoken> | undefined;
  for (const spoken of protocols) {
    const protocol = only?.includes(spoken.id) === false ? undefined : servedBy(asked, spoken.id);
    if (protocol === undefined) continue;
    if (spoken.id === asked) return { spoken, protocol };
    translation ??= { spoken, protocol };
  }
  return translation;
}
