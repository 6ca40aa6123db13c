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
  { to: "/overview", name: "Overview", icon: Gauge, isForAll: false },
  { to: "/playground", name: "Playground", icon: MessagesSquare, isForAll: true },
  { to: "/models", name: "Models", icon: Boxes, isForAll: true },
  { to: "/requests", name: "Requests", icon: Activity, isForAll: true },
  { to: "/tasks", name: "Tasks", icon: ListChecks, isForAll: true },
  { to: "/accounts", name: "Accounts & keys", icon: Users, isForAll: false },
  { to: "/health", name: "Health", icon: HeartPulse, isForAll: false },
  { to: "/settings", name: "Settings", icon: Settings, isForAll: true },
] as const;

/** A place of the rail. */
export type Place = (typeof PLACES)[number];

/** A phone's bar has this many columns. */
const MOST_ON_PHONES = 5;

/** What of `places` a phone shows behind its last column: nothing where all have room. */
export function furtherOf(places: readonly Place[]): readonly Place[] {
  return places.length > MOST_ON_PHONES ? places.slice(MOST_ON_PHONES - 1) : [];
}
