import {
  DefinitionError,
  definePrompt,
  isFileRef,
  linkedFile,
  parseMessages,
  partsOf,
  uploadedFile,
  type FileRef,
  type PromptOverride,
} from "@proviso/core";
import { checkOverride, RenderFault } from "@proviso/core/internal";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const png = new File([new Uint8Array([1])], "photo.png", { type: "image/png" });
const stored: FileRef = { kind: "stored", name: "a.pdf", mediaType: "application/pdf", hash: "0".repeat(64), bytes: 3 };

describe("files in texts", () => {
  test("FILE-2 a placeholder of a file renders its label, and the file stands right behind it", () => {
    const prompt = definePrompt({
      key: "see",
      params: z.object({ photo: z.file(), more: z.array(z.file()), ref: z.custom<FileRef>(isFileRef) }),
      sections: [
        { key: "rules", text: "Be short." },
        { key: "task", role: "user", title: "Task", text: "Look: {{photo}}!" },
        { key: "rest", role: "user", text: "{{more}} and {{ref}}" },
      ],
    });
    const song = new File(["x"], "song.mp3", { type: "audio/mpeg" });
    const { user, system, files } = prompt.bind({ photo: png, more: [png, song], ref: stored }).render();
    expect(system).toBe("Be short.");
    expect(user).toBe("## 2. Task\n\nLook: [image photo.png]!\n\n[image photo.png] [audio song.mp3] and [file a.pdf]");
    expect(files?.map(({ file }) => file)).toEqual([png, png, song, stored]);
    expect(files?.map(({ at }) => user.slice(0, at).split("[").at(-1))).toEqual([
      "image photo.png]",
      "image photo.png]",
      "audio song.mp3]",
      "file a.pdf]",
    ]);
  });

  test("FILE-2 an empty list of files renders nothing, and a prompt without files has none", () => {
    const prompt = definePrompt({ key: "see", params: z.object({ all: z.array(z.file()) }), text: "<{{all}}>" });
    const rendered = prompt.bind({ all: [] }).render();
    expect(rendered.user).toBe("<>");
    expect("files" in rendered).toBe(false);
  });

  test("FILE-2 a name cannot break out of its line", () => {
    const prompt = definePrompt({ key: "see", params: z.object({ photo: z.file() }), text: "{{photo}}" });
    const photo = new File(["x"], "a\nb.png", { type: "image/png" });
    expect(prompt.bind({ photo }).render().user).toBe("[image a_b.png]");
  });

  test("FILE-4 a system section that names a file is refused where there is a user section", () => {
    const define = () =>
      definePrompt({
        key: "see",
        params: z.object({ photo: z.file() }),
        sections: [
          { key: "rules", text: "{{photo}}" },
          { key: "task", role: "user", text: "Go." },
        ],
      });
    expect(define).toThrow(DefinitionError);
    expect(define).toThrow('The section "rules" names the file {{photo}}');
  });

  test("FILE-4 where only the value shows that it is a file, rendering is refused", () => {
    const prompt = definePrompt({
      key: "see",
      params: z.object({ photo: z.any() }),
      sections: [
        { key: "rules", text: "{{photo}}" as string },
        { key: "task", role: "user", text: "Go." },
      ],
    });
    expect(() => prompt.bind({ photo: png }).render()).toThrow(RenderFault);
  });

  test("FILE-4 without a user section all of the text is the user's, files included", () => {
    const prompt = definePrompt({
      key: "see",
      params: z.object({ photo: z.file() }),
      sections: [{ key: "a", text: "{{photo}}" }],
    });
    expect(prompt.bind({ photo: png }).render().files).toEqual([{ at: 17, file: png }]);
  });
});

describe("files in messages", () => {
  const user = { role: "user" as const, text: "ab[file a.pdf]cd", files: [{ at: 14, file: stored }], cacheAt: [1, 14] };

  test("FILE-12 references and offsets are kept, and JSON there and back is the same", () => {
    expect(parseMessages(JSON.parse(JSON.stringify([user])))).toEqual([user]);
  });

  test.each([
    [{ at: 99, file: stored }, "messages[0].files[0].at"],
    [{ at: 1.5, file: stored }, "messages[0].files[0].at"],
    [{ at: 1, file: { ...stored, hash: "x" } }, "messages[0].files[0].file.hash"],
    [{ at: 1, file: { ...stored, name: "a\u0000" } }, "messages[0].files[0].file.name"],
    [{ at: 1, file: { ...stored, kind: "link", url: "data:x" } }, "messages[0].files[0].file.url"],
    [{ at: 1, file: { ...stored, kind: "bytes" } }, "messages[0].files[0].file.kind"],
  ])("FILE-12 %j is refused with the path of the fault", (placed, path) => {
    expect(() => parseMessages([{ ...user, files: [placed] }])).toThrow(path);
  });

  test("FILE-12 a system message holds no files", () => {
    expect(() => parseMessages([{ ...user, role: "system" }])).toThrow("messages[0].files");
  });

  test("FILE-2 partsOf gives texts, files and breakpoints in order", () => {
    expect(partsOf(user)).toEqual([
      { kind: "text", text: "a", cache: true },
      { kind: "text", text: "b[file a.pdf]" },
      { kind: "file", file: stored, cache: true },
      { kind: "text", text: "cd" },
    ]);
    expect(partsOf({ role: "user", text: "" })).toEqual([{ kind: "text", text: "" }]);
  });

  test("FILE-10 a link must be http or https, and an upload needs an id", () => {
    expect(linkedFile("https://a.example/b/c%20d.png?x=1", { mediaType: "image/png" })).toMatchObject({
      name: "c d.png",
    });
    expect(() => linkedFile("data:image/png;base64,AA", { mediaType: "image/png" })).toThrow(
      "give the bytes as a File",
    );
    expect(() => linkedFile("file:///etc/passwd", { mediaType: "image/png" })).toThrow(DefinitionError);
    expect(() => uploadedFile({}, { mediaType: "image/png", name: "a" })).toThrow(DefinitionError);
  });
});

describe("FILE-15 an override of a text that shows a file", () => {
  const prompt = definePrompt({
    ns: "tests",
    key: "see",
    params: z.object({ photo: z.file(), more: z.array(z.file()).optional(), ref: z.custom<FileRef>(isFileRef) }),
    sections: [
      { key: "task", role: "user", text: "Look: {{photo}} {{more}}", summary: "A {{photo}}.", visibility: "full" },
      { key: "rest", role: "user", text: "And {{ref}}." },
    ],
  });
  const bound = prompt.bind({ photo: png, ref: stored });
  const override = (key: "task" | "rest", texts: { text?: string; summary?: string }): PromptOverride => ({
    tag: "latest",
    sections: { [key]: { hash: prompt.descriptor.sections[key] ?? "", ...texts } },
    tools: {},
  });

  test.each([
    ["its text", { text: "Look!" }, "{{photo}}, {{more}}"],
    ["one of two files", { text: "Look: {{photo}}" }, "{{more}}"],
    ["an escaped placeholder in its place", { text: "{{more}} \\{{photo}}" }, "{{photo}}"],
    ["its summary", { summary: "Something." }, "{{photo}}"],
  ])("FILE-15 OVR-3 is refused without %s, when it is stored and when it is rendered", (_, texts, left) => {
    const said = `section "task" leaves out the file ${left}.`;
    expect(() => checkOverride(override("task", texts), prompt.descriptor)).toThrow(said);
    expect(() => bound.render({ overrides: override("task", texts) })).toThrow(DefinitionError);
    expect(() => bound.render({ overrides: override("task", texts) })).toThrow(said);
  });

  test("FILE-15 is taken where the files are named, in whatever order", () => {
    const texts = { text: "{{more}}{{photo}}, what is it?", summary: "See {{photo}}" };
    checkOverride(override("task", texts), prompt.descriptor);
    expect(bound.render({ overrides: override("task", texts) }).user).toContain("[image photo.png], what is it?");
    checkOverride(override("task", {}), prompt.descriptor);
  });

  test("FILE-15 is refused when it is rendered where only the value shows that it is a file", () => {
    const dropped = override("rest", { text: "And nothing." });
    checkOverride(dropped, prompt.descriptor);
    expect(() => bound.render({ overrides: dropped })).toThrow('section "rest" leaves out the file {{ref}}.');
  });

  test("FILE-15 OVR-2 is skipped, and not refused, where it was written for another text", () => {
    const stale = { ...override("task", {}), sections: { task: { hash: "0".repeat(64), text: "Look!" } } };
    expect(bound.render({ overrides: stale }).overrides).toMatchObject({ stale: ["task"] });
  });

  test("FILE-15 a prompt without files has a descriptor without them", () => {
    const plain = definePrompt({ key: "plain", params: z.object({ name: z.string() }), text: "{{name}}" });
    expect("files" in plain.descriptor).toBe(false);
    expect(prompt.descriptor.files).toEqual({ task: { text: ["photo", "more"], summary: ["photo"] } });
  });
});
