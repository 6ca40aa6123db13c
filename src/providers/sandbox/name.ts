/** What requests, answers and bills call the sandbox. */
export const SANDBOX = "sandbox";
