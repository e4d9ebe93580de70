import { defineEvent, defineSection, defineSlice, type Section, type Session, type Slice } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { joinSlices } from "@proviso/runtime/internal";
import { z } from "zod";

const digestSet = defineEvent("toolkit.workspace-digest-set", z.object({ section: z.string(), digest: z.string() }));
const digestCleared = defineEvent("toolkit.workspace-digest-cleared", z.object({ section: z.string() }));

/** The digests that a session keeps, by the path of their section. */
export const workspaceDigests: Slice<readonly { readonly section: string; readonly digest: string }[]> = defineSlice<
  readonly { readonly section: string; readonly digest: string }[]
>({
  name: "toolkit.workspace-digests",
  initial: [],
  reducers: ({ on }) => {
    on(digestSet, (before, { section, digest }) => [
      ...before.filter((other) => other.section !== section),
      { section, digest },
    ]);
    on(digestCleared, (before, { section }) => before.filter((other) => other.section !== section));
  },
});

const digestSections = new WeakSet<NonNullable<Section["textFrom"]>>();

/** Whether a section shows a digest of a workspace. */
export function isDigestSection(section: Section<never>): boolean {
  return section.textFrom !== undefined && digestSections.has(section.textFrom);
}

/**
 * A section that shows the digest which the session keeps, or an override put in its place. Default key
 * "workspace-digest".
 */
export function workspaceDigest(
  options: { readonly key?: string | undefined; readonly title?: string | undefined } = {},
): Section {
  checkOptionNames("workspaceDigest", options, { key: true, title: true });
  const { key = "workspace-digest", title = "Workspace" } = options;
  const textFrom: NonNullable<Section["textFrom"]> = (get, path) =>
    get(workspaceDigests).find(({ section }) => section === path)?.digest;
  digestSections.add(textFrom);
  const text = "There is no digest of the workspace yet: look before you act.";
  return defineSection({ key, title, text, textFrom, slices: [workspaceDigests] });
}

/** Puts a digest into a session, for the section of that dotted path; the next evaluation in it shows it. */
export function setWorkspaceDigest(session: Session, section: string, digest: string): void {
  joinSlices(session, [workspaceDigests]);
  session.dispatch(digestSet({ section, digest }));
}

/** Forgets the session's own copy. */
export function clearWorkspaceDigest(session: Session, section: string): void {
  joinSlices(session, [workspaceDigests]);
  session.dispatch(digestCleared({ section }));
}
