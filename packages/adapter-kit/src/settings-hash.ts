import { contentHash } from "@proviso/core/internal";
import { openSecrets, shownAddress } from "@proviso/runtime/internal";

/** The settings that decide a model's answers. */
export interface DecidingSettings {
  /** The address of the service; what follows "?" may be a key, and is left out. */
  readonly baseURL?: string | undefined;
  readonly [setting: string]: unknown;
}

/** Returns the `settingsHash` of a ModelProvider. Secrets in the settings are left out: another key gives the same hash. */
export function settingsHash({ baseURL, ...settings }: DecidingSettings, secrets: readonly string[]): string {
  const all = { ...settings, baseURL: baseURL === undefined ? undefined : shownAddress(baseURL) };
  return contentHash(openSecrets(secrets)?.redact(all) ?? all);
}
