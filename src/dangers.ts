/** Throws one sentence when the environment switches off a protection that the gateway relies on. */
export function refuseDangers(environment: NodeJS.ProcessEnv): void {
  if (environment.NODE_TLS_REJECT_UNAUTHORIZED?.trim() === "0") {
    throw new Error(
      "NODE_TLS_REJECT_UNAUTHORIZED is 0, so anyone on the way could read credentials and change answers: unset it, and trust a certificate of your own by NODE_EXTRA_CA_CERTS.",
    );
  }
}

/** Throws one sentence when a token could be guessed. */
export function checkAdminToken(token: string): void {
  if (token.length < 16)
    throw new Error("SWITCHYARD_ADMIN_TOKEN is shorter than 16 characters: choose a longer one.");
  if (new Set(token).size === 1)
    throw new Error("SWITCHYARD_ADMIN_TOKEN is one character repeated: choose one that is random.");
}

/** Throws one sentence, without the text, when no header could carry it: every call would fail. */
export function checkCredential(name: string, text: string): void {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(text))
    throw new Error(`${name} has a line break or another control character in it: write it as one line.`);
  if (/[\u0100-\uffff]/.test(text))
    throw new Error(`${name} has a character in it that no header can carry: copy it anew.`);
}

/**
 * Throws one sentence, without the text, when it is no address of a server, or has a password, a query or a fragment.
 * Paths are put behind it.
 */
export function checkAddress(name: string, text: string): void {
  const url = /^https?:\/\//.test(text) && !/\s/.test(text) ? URL.parse(text) : null;
  if (url === null) throw new Error(`${name} is no URL that begins with http:// or https://.`);
  refusePassword(name, text);
  if (/[?#]/.test(text)) throw new Error(`${name} has a ? or a # in it: an address ends with its path.`);
}

/** Throws one sentence when a URL has a name or a password in it; other text passes. */
export function refusePassword(name: string, address: string): void {
  const url = URL.parse(address);
  if (url !== null && (url.username !== "" || url.password !== "")) {
    throw new Error(
      `${name} has a name or a password in it, which logs and other programs would show: leave it out.`,
    );
  }
}

/** Where the gateway listens, and where it shows metrics. */
interface Listening {
  readonly host: string;
  readonly metricsListen: { readonly host: string; readonly port: number } | undefined;
}

/** Warnings for the operator before the process serves, a sentence each that names the setting. */
export function warningsOf(
  { host, metricsListen }: Listening,
  environment: NodeJS.ProcessEnv,
  runtimeArguments: readonly string[],
): readonly string[] {
  const warnings = inspectorsOf(environment, runtimeArguments).map(
    (name) => `${name} opens an inspector: whoever reaches it reads every credential and prompt.`,
  );
  if (!isThisMachine(host)) {
    warnings.push(
      `HOST is ${host}: other machines reach this gateway, and keys cross the network unencrypted unless a proxy in front speaks TLS.`,
    );
  }
  if (metricsListen !== undefined && !isThisMachine(metricsListen.host)) {
    warnings.push(
      `METRICS_LISTEN is ${metricsListen.host}:${metricsListen.port}: other machines read there without a token what this gateway serves, and how much of it.`,
    );
  }
  return warnings;
}

const INSPECTOR_VARIABLES = ["BUN_INSPECT", "BUN_INSPECT_CONNECT_TO"];
const INSPECTOR_FLAG = /(?:^|\s)(--inspect[a-z-]*)/;

/** Settings that open an inspector in this process, or in the launcher, which has the same environment. */
function inspectorsOf(environment: NodeJS.ProcessEnv, runtimeArguments: readonly string[]): string[] {
  const isSet = (name: string): boolean => (environment[name] ?? "") !== "";
  const flag = INSPECTOR_FLAG.exec(runtimeArguments.join(" "))?.[1];
  return [
    ...INSPECTOR_VARIABLES.filter(isSet),
    ...(INSPECTOR_FLAG.test(environment.NODE_OPTIONS ?? "") ? ["NODE_OPTIONS"] : []),
    ...(flag === undefined ? [] : [flag]),
  ];
}

function isThisMachine(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}
