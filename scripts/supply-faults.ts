/** What may be wrong with a package that others wrote, and with how packages are taken. */

export interface Installed {
  readonly name: string;
  readonly version: string;
  readonly license?: unknown;
  readonly scripts?: Readonly<Record<string, string>> | undefined;
}

/** Licences that ask for no more than their notice. */
const allowed: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "Python-2.0",
  "Unlicense",
  "Zlib",
]);

/** Others, of tools that reach nobody who installs our packages, and why they are there. */
export const toolsOnly: readonly { readonly name: RegExp; readonly license: string }[] = [
  // vite's, for style sheets that we have none of.
  { name: /^lightningcss(-|$)/, license: "MPL-2.0" },
  // The servers that tests of @proviso/mcp drive. Their READMEs say MIT; the LICENSE that they name is not in the packages.
  { name: /^@modelcontextprotocol\/server-(everything|filesystem)$/, license: "SEE LICENSE IN LICENSE" },
];

const lifecycle = ["preinstall", "install", "postinstall"] as const;

/** `builds`: the dependencies whose scripts the workspace has decided on. */
export function packageFaults({ name, version, license, scripts }: Installed, builds: readonly string[]): string[] {
  const faults: string[] = [];
  const own = lifecycle.filter((script) => scripts?.[script] !== undefined);
  if (own.length > 0 && !builds.includes(name)) faults.push(`${name}@${version} runs ${own.join(", ")}`);
  const terms = licencesOf(license);
  const excepted = toolsOnly.some((tool) => tool.name.test(name) && terms.includes(tool.license));
  if (!excepted && !terms.some(isAllowed)) {
    faults.push(`${name}@${version} has the licence ${terms.join(" or ") || "(none)"}`);
  }
  return faults;
}

/** One of these may be chosen. */
function licencesOf(license: unknown): readonly string[] {
  const given = typeof license === "object" && license !== null ? (license as { type?: unknown }).type : license;
  return typeof given === "string" ? given.replace(/^\((.*)\)$/, "$1").split(" OR ") : [];
}

/** Of "A AND B", each has to be allowed. A bracket in the middle of an expression makes it one that is not known. */
const isAllowed = (terms: string): boolean => terms.split(" AND ").every((term) => allowed.has(term));

/** Minutes that a version has to be old. */
const leastAge = 1_440;

export function workspaceFaults(workspace: string): string[] {
  const age = Number(/^minimumReleaseAge: (\d+)$/m.exec(workspace)?.[1] ?? 0);
  const faults = age >= leastAge ? [] : [`minimumReleaseAge is ${age} minutes: have at least ${leastAge}`];
  if (!/^allowBuilds:/m.test(workspace)) faults.push("allowBuilds has to say which dependencies may run scripts");
  return faults;
}

/** The dependencies whose scripts the workspace lets run (true), or keeps from running (false). */
export function buildsIn(workspace: string): readonly string[] {
  const block = /^allowBuilds:\n((?: .*\n)+)/m.exec(workspace)?.[1] ?? "";
  return [...block.matchAll(/^\s+"?([^":]+)"?: (?:true|false)$/gm)].map((match) => match[1] ?? "");
}

/** Every package comes from a registry, with a hash. */
export function lockfileFaults(lockfile: string): string[] {
  const resolutions = [...lockfile.matchAll(/^ {4}resolution: (.*)$/gm)].map((match) => match[1] ?? "");
  const faults = resolutions
    .filter((resolution) => !/^\{integrity: sha512-[^,}]+\}$/.test(resolution))
    .map((resolution) => `the lockfile has a package without a sha512, or from elsewhere: ${resolution}`);
  return resolutions.length === 0 ? ["the lockfile has no packages"] : faults;
}
