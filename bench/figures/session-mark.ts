/** Stands in a text where each session has another one; whoever sends the body puts as many characters in its place. */
export const SESSION_MARK = "00session00";
