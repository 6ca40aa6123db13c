/** What a call is made on, by name. */
export interface WayKey {
  readonly model: string;
  readonly provider: string;
  /** What the provider calls the model. A model may have a route by each of two names there. */
  readonly upstreamId: string;
  /** `Credential.name`; "" where the provider has but one. */
  readonly credential: string;
  /** Of images and videos. They are a service of their own at most providers, which fails and is bounded by itself. */
  readonly media?: true;
}

/** A credential of a provider, by name. */
export type CredentialKey = Pick<WayKey, "provider" | "credential" | "media">;

/** Names of what fails by itself: a provider, and its images and videos. No provider's name has a space. */
export function serviceOf({ provider, media }: CredentialKey): string {
  return media === true ? `${provider} media` : provider;
}

/** Names of what fails by itself within a service: a model by one of its names there. */
export function routeOf({ model, upstreamId }: WayKey): string {
  return `${model}\n${upstreamId}`;
}
