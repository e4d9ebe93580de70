import { definePrompt, DefinitionError, Filesystem, provide, type ProvisoError } from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { readSkills, skillsSection } from "@proviso/toolkit";
import { expect, test } from "vitest";

const front = (name: string, more = "") => `---\nname: ${name}\ndescription: How to work with ${name}.\n${more}---\n`;
const files = {
  "skills/pdf/SKILL.md": `${front("pdf", "allowed-tools: Bash(git add:*) Read\nmetadata:\n  version: '1.2'\n")}\n# PDF\nFill {{forms}} as \\{{ says.\n`,
  "skills/pdf/reference/forms.md": "one\ntwo\n",
  "skills/pdf/scripts/fill.py": "print('filled')",
  "skills/more/csv/SKILL.md": `${front("csv")}Commas.`,
  "secret.txt": "secret",
};

async function evaluated(calls: readonly object[], given: Readonly<Record<string, string | Uint8Array>> = files) {
  const filesystem = memoryFilesystem(given);
  const section = skillsSection(await readSkills(filesystem, "skills"), { key: "skills", filesystem });
  const steps: ScriptedStep[] = calls.map((input) => {
    const name = "key" in input ? "read_section" : "read_skill_file";
    return { toolCalls: [{ name, arguments: input }] };
  });
  const model = scriptedModel([...steps, { text: "done" }]);
  const prompt = definePrompt({
    key: "work",
    sections: [section, { key: "task", role: "user", text: "Work." }],
  }).bind();
  const session = createSession();
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(prompt, {
    session,
    // The skills are not in the workspace.
    resources: [provide(Filesystem, memoryFilesystem({}))],
  });
  const results = toolResults.map(({ result }) =>
    result.success ? String(result.value) : `failed: ${result.message}`,
  );
  return { results, requests: model.requests };
}

test("SKL-1 the model sees names and descriptions, reads a body when it needs it, and the prompt stays as it is", async () => {
  const { results, requests } = await evaluated([{ key: "skills.pdf" }]);
  const [first, second] = requests.map(({ messages }) => messages[0]?.text);
  expect(first).toContain("How to work with pdf.");
  expect(first).toContain("How to work with csv.");
  expect(first).not.toContain("Fill");
  expect(second).toBe(first);
  expect(requests[1]?.tools).toEqual(requests[0]?.tools);
  expect(results[0]).toContain("# PDF\nFill {{forms}} as \\{{ says.");
  expect(results[0]).toContain("reference/forms.md, scripts/fill.py");
});

test("SKL-1 a file is read by code that has no context, too", async () => {
  const filesystem = memoryFilesystem(files);
  const section = skillsSection(await readSkills(filesystem, "skills"), { key: "skills", filesystem });
  const read = section.tools?.find(({ name }) => name === "read_skill_file");
  const execute = read?.execute as ((input: unknown) => unknown) | undefined;
  expect(JSON.stringify(await execute?.({ skill: "pdf", path: "reference/forms.md", fromLine: 1 }))).toContain("two");
});

test("SKL-1 files of a skill are read inside its folder alone", async () => {
  const { results } = await evaluated([
    { skill: "pdf", path: "reference/forms.md" },
    { skill: "pdf", path: "./reference/forms.md", fromLine: 2 },
    { skill: "pdf", path: "../more/csv/SKILL.md" },
    { skill: "pdf", path: "/secret.txt" },
    { skill: "pdf", path: "reference/../../../secret.txt" },
    { skill: "csv", path: "reference/forms.md" },
    { skill: "tar", path: "a" },
  ]);
  expect(results.slice(0, 2)).toEqual(["lines 1-2 of 2\none\ntwo\n", "lines 2-2 of 2\ntwo"]);
  for (const result of results.slice(2, 5))
    expect(result).toMatch(/^failed: The skill pdf has no file .*Its files are: /);
  expect(results[5]).toBe('failed: The skill csv has no file "reference/forms.md". It has none.');
  expect(results[6]).toBe('failed: There is no skill "tar". The skills are: csv, pdf.');
});

test("SKL-1 what a skill says is data: its tools and metadata are listed, and nothing is run", async () => {
  const skills = await readSkills(memoryFilesystem(files), "skills");
  expect(skills).toEqual([
    {
      name: "csv",
      description: "How to work with csv.",
      body: "Commas.",
      path: "skills/more/csv",
      files: [],
      allowedTools: [],
      metadata: {},
    },
    {
      name: "pdf",
      description: "How to work with pdf.",
      body: "# PDF\nFill {{forms}} as \\{{ says.",
      path: "skills/pdf",
      files: ["reference/forms.md", "scripts/fill.py"],
      allowedTools: ["Bash(git add:*)", "Read"],
      metadata: { version: "1.2" },
    },
  ]);
});

test("SKL-1 two skills of one name, and none at all, are refused", async () => {
  const filesystem = memoryFilesystem({ "a/csv/SKILL.md": front("csv"), "b/csv/SKILL.md": front("csv") });
  const skills = await readSkills(filesystem);
  expect(() => skillsSection(skills, { key: "skills", filesystem })).toThrow('Two skills are named "csv"');
  expect(() => skillsSection([], { key: "skills", filesystem })).toThrow(DefinitionError);
});

const broken: readonly (readonly [string, Readonly<Record<string, string | Uint8Array>>, RegExp])[] = [
  ["no front matter", { "a/SKILL.md": "# A" }, /has to begin with front matter/],
  ["front matter without an end", { "a/SKILL.md": "---\nname: a\n" }, /has to begin with front matter/],
  ["no YAML", { "a/SKILL.md": "---\nname: [a\n---\n" }, /is no YAML/],
  ["a key twice", { "a/SKILL.md": `---\nname: a\nname: a\n---\n` }, /is no YAML/],
  ["front matter that is no map", { "a/SKILL.md": "---\n- a\n---\n" }, /has to have name and description/],
  ["no name", { "a/SKILL.md": "---\ndescription: b\n---\n" }, /has no name/],
  ["a name in capitals", { "A/SKILL.md": front("A") }, /lower case/],
  ["a name with two hyphens", { "a--b/SKILL.md": front("a--b") }, /single hyphens/],
  ["the name of another folder", { "a/SKILL.md": front("b") }, /its name "b" has to be the name of its folder, "a"/],
  ["no description", { "a/SKILL.md": "---\nname: a\n---\n" }, /has no description/],
  ["a long description", { "a/SKILL.md": `---\nname: a\ndescription: ${"d".repeat(1_025)}\n---\n` }, /has 1025 char/],
  ["tools that are no texts", { "a/SKILL.md": front("a", "allowed-tools: [1]\n") }, /allowed-tools/],
  ["metadata that is no map", { "a/SKILL.md": front("a", "metadata: 1\n") }, /metadata has to be a map/],
  ["bytes that are no text", { "a/SKILL.md": new Uint8Array([0x2d, 0xff]) }, /cannot be used/],
  ["a text that no model reads at once", { "a/SKILL.md": front("a") + "x".repeat(300_000) }, /more than 262144/],
  [
    "too many files",
    { "a/SKILL.md": front("a"), ...Object.fromEntries(Array.from({ length: 512 }, (_, n) => [`a/f${n}`, ""])) },
    /more than 512 files/,
  ],
  [
    "files that are too large",
    { "a/SKILL.md": front("a"), "a/b": new Uint8Array(16 * 1024 * 1024) },
    /more than 16777216/,
  ],
];

test.each(broken)("SKL-2 a skill with %s is refused with its path and the fault", async (_, given, says) => {
  const error = (await readSkills(memoryFilesystem(given)).catch((thrown: unknown) => thrown)) as ProvisoError;
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toMatch(/^The skill [Aa](?:--b)?\/SKILL\.md cannot be used: /);
  expect(error.message).toMatch(says);
});

test("SKL-2 512 files and 16 MiB are taken, and so are a mark at the beginning and other line ends", async () => {
  const many = Object.fromEntries(Array.from({ length: 511 }, (_, n) => [`a/f${n}`, ""]));
  const text = `\u{feff}${front("a")}`.replaceAll("\n", "\r\n");
  const large = new Uint8Array(16 * 1024 * 1024 - new TextEncoder().encode(text).length);
  const [skill] = await readSkills(memoryFilesystem({ ...many, "a/SKILL.md": text, "a/f0": large }));
  expect(skill?.files).toHaveLength(511);
});
