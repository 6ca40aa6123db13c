import Activity from "lucide-solid/icons/activity";
import Boxes from "lucide-solid/icons/boxes";
import Gauge from "lucide-solid/icons/gauge";
import HeartPulse from "lucide-solid/icons/heart-pulse";
import ListChecks from "lucide-solid/icons/list-checks";
import MessagesSquare from "lucide-solid/icons/messages-square";
import Settings from "lucide-solid/icons/settings";
import Users from "lucide-solid/icons/users";

/** The places of the rail, in their order. */
export const PLACES = [
  { to: "/overview", name: "Overview", icon: Gauge },
  { to: "/playground", name: "Playground", icon: MessagesSquare },
  { to: "/models", name: "Models", icon: Boxes },
  { to: "/requests", name: "Requests", icon: Activity },
  { to: "/tasks", name: "Tasks", icon: ListChecks },
  { to: "/accounts", name: "Accounts & keys", icon: Users },
  { to: "/health", name: "Health", icon: HeartPulse },
  { to: "/settings", name: "Settings", icon: Settings },
] as const;

/** A place of the rail. */
export type Place = (typeof PLACES)[number];

/** A phone's bar has this many columns. */
const MOST_ON_PHONES = 5;

/** What of `places` a phone shows behind its last column: nothing where all have room. */
export function furtherOf(places: readonly Place[]): readonly Place[] {
  return places.length > MOST_ON_PHONES ? places.slice(MOST_ON_PHONES - 1) : [];
}

const FOR_OPERATORS = ["/overview", "/accounts", "/keys", "/health"];

/** Whether the page at an address, or those below it, are for operators alone. */
export function isForOperators(path: string): boolean {
  return FOR_OPERATORS.some((place) => path === place || path.startsWith(`${place}/`));
}
