/** Members of the address of the page Accounts & keys. */
export const ACCOUNTS_SEARCH = ["tab", "text", "status", "account_id", "sort"] as const;

/** Members of the address of an account's page: those of its ledger, and the order of its keys. */
export const ACCOUNT_SEARCH = ["kind", "text", "sort", "keys"] as const;

/** Members of the address of the page that makes a key, beside those of its ready call. */
export const NEW_KEY_SEARCH = ["account_id"] as const;
