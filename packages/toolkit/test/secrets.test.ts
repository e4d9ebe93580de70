// A tool that shows a part of a long line cuts it beside the secrets of the evaluation.
import { definePrompt, Filesystem, provide } from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { filesystemTools, readSkills, skillsSection } from "@proviso/toolkit";
import { expect, test } from "vitest";

const secret = "QRSTVWQRSTVWQRST";
/** Letters of the secret stand nowhere else in the lines. */
const lineWith = (before: number, needle = ""): string =>
  `${"x".repeat(before)}${secret}${needle}${"y".repeat(50_000)}`;

/** The event of a call. */
async function invoked(name: string, input: object, line: string): Promise<string> {
  const filesystem = memoryFilesystem({
    "long.txt": line,
    "skills/a/SKILL.md": "---\nname: a\ndescription: b\n---\n",
    "skills/a/long.txt": line,
  });
  const skills = skillsSection(await readSkills(filesystem, "skills"), { key: "skills", filesystem });
  const prompt = definePrompt({
    key: "look",
    sections: [{ key: "files", text: "Look.", tools: filesystemTools() }, skills],
  }).bind();
  const session = createSession();
  const events = recordEvents(session);
  const model = scriptedModel([{ toolCalls: [{ name, arguments: input }] }, { text: "done" }]);
  await modelAdapter(model, { secrets: [secret] }).evaluate(prompt, {
    session,
    resources: [provide(Filesystem, filesystem)],
  });
  return JSON.stringify(events.find(({ type }) => type === "tool.invoked"));
}

const places = Array.from({ length: secret.length + 2 }, (_, place) => place);

test.each([
  ["read_file", { path: "long.txt" }],
  ["read_skill_file", { skill: "a", path: "long.txt" }],
])("SEC-1 KIT-2 SKL-1 %s cuts a line beside a secret, and leaves no part of it", async (name, input) => {
  for (const place of places) {
    const text = await invoked(name, input, lineWith(40_000 - place));
    expect(text).toContain("is too long and cut");
    expect(text).not.toMatch(/[Q-TVW]{2}/);
  }
});

test("SEC-1 KIT-2 what grep_files shows around a match has no part of a secret", async () => {
  const before = `${"x".repeat(1_000)}needle`;
  for (const place of places) {
    // Before the match, 100 characters are shown; behind its beginning, 300.
    const first = await invoked("grep_files", { text: "needle" }, lineWith(1_000, `${"x".repeat(84 + place)}needle`));
    const last = await invoked("grep_files", { text: "needle" }, `${before}${lineWith(294 - place)}`);
    for (const text of [first, last]) {
      expect(text).toContain("needle");
      expect(text).not.toMatch(/[Q-TVW]{2}/);
    }
  }
});
