import type { WebSearch } from "../core/chat.ts";
import { filled, filledText, isJsonObject, present } from "../core/json/json-value.ts";

/** What a request says beside a search, as messages and Responses have it. */
interface Said {
  readonly allowed: unknown;
  readonly blocked: unknown;
  readonly near: unknown;
}

/** The domains that a search may find, and where its user is. */
export function searchBounds({
  allowed,
  blocked,
  near,
}: Said): Pick<WebSearch, "allowedDomains" | "blockedDomains" | "location"> {
  const place = isJsonObject(near) ? near : {};
  const location = present({
    city: filledText(place.city),
    region: filledText(place.region),
    country: filledText(place.country),
    timezone: filledText(place.timezone),
  });
  return present({
    allowedDomains: textsIn(allowed),
    blockedDomains: textsIn(blocked),
    location: filled(location),
  });
}

function textsIn(list: unknown): readonly string[] | undefined {
  return Array.isArray(list) ? filled(list.filter((item) => typeof item === "string")) : undefined;
}
