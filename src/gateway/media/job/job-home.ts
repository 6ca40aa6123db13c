import type { MediaProvider } from "../../../providers/provider.ts";

/** A job that was begun: the provider's name for it, and the provider at the job's address. */
export interface JobHome {
  readonly job: string | null;
  readonly provider: MediaProvider;
}

/**
 * The note by which a job is found again. It has the job's name, and its address where its vendor has several. It has
 * the credential that the job was begun with where its provider has several.
 */
export function jobNote(job: string, { baseUrl, ownHosts }: MediaProvider, credential: string): string {
  return [job, isOwn(baseUrl, ownHosts) ? baseUrl : "", credential].join(" ").trimEnd();
}

/** The name of the credential that the job of a note was begun with; "" where its provider had but one. */
export function credentialOf(note: string): string {
  return note.split(" ")[2] ?? "";
}

/**
 * The job that a note names, at the address where it was begun, whatever address is set by now. That holds only between
 * hosts of the vendor. Behind a proxy the address that is set leads to the job. No credential is sent to an address
 * that the operator no longer uses.
 */
export function homeOf(note: string | null, provider: MediaProvider): JobHome {
  const [job = "", baseUrl = ""] = note?.split(" ") ?? [];
  if (note === null) return { job: null, provider };
  const { ownHosts } = provider;
  const isAtHome = isOwn(baseUrl, ownHosts) && isOwn(provider.baseUrl, ownHosts);
  return { job, provider: isAtHome ? { ...provider, baseUrl } : provider };
}

function isOwn(baseUrl: string, ownHosts: RegExp | undefined): boolean {
  if (ownHosts === undefined || !URL.canParse(baseUrl)) return false;
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === "https:" && ownHosts.test(hostname);
}
