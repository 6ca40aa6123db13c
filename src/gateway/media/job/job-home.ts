import type { MediaProvider } from "../../../providers/provider.ts";

/** A job that was begun: what its provider calls it, and the provider at the address where it lives. */
export interface JobHome {
  readonly job: string | null;
  readonly provider: MediaProvider;
}

/** What is written down of a job, so that it is found again: its name, and its address where its vendor has several. */
export function jobNote(job: string, { baseUrl, ownHosts }: MediaProvider): string {
  return isOwn(baseUrl, ownHosts) ? `${job} ${baseUrl}` : job;
}

/**
 * The job that a note names, at the address where it was begun, whatever address is set by now. Only from one host of the
 * vendor to another: behind a proxy the address that is set leads to the job, and no credential is sent where its operator
 * has gone away from.
 */
export function homeOf(note: string | null, provider: MediaProvider): JobHome {
  const [job = "", baseUrl] = note?.split(" ") ?? [];
  if (note === null || baseUrl === undefined) return { job: note, provider };
  const { ownHosts } = provider;
  const isAtHome = isOwn(baseUrl, ownHosts) && isOwn(provider.baseUrl, ownHosts);
  return { job, provider: isAtHome ? { ...provider, baseUrl } : provider };
}

function isOwn(baseUrl: string, ownHosts: RegExp | undefined): boolean {
  if (ownHosts === undefined || !URL.canParse(baseUrl)) return false;
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === "https:" && ownHosts.test(hostname);
}
