import { definePrompt, defineTool, Filesystem, provide } from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { invokeTool, scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";

const tidy = definePrompt({ key: "tidy", params: z.object({ path: z.string() }), text: "Tidy {{path}}." });
const publish = defineTool({
  name: "publish",
  description: "Publishes a page.",
  input: z.object({ path: z.string() }),
  async execute({ path }, { resources, evaluate }) {
    await resources.get(Filesystem).write(path, "a draft");
    const { output } = await evaluate(tidy.bind({ path }), { adapter });
    if (output !== "tidy") throw new Error(`not published: ${output}`);
    return path;
  },
});
const adapter = modelAdapter(scriptedModel([{ text: "still a mess" }]));
const files = memoryFilesystem();
const resources = [provide(Filesystem, files)];
const { result } = await invokeTool(publish, { path: "page.md" }, { session: createSession(), resources });
console.log(result.message, "·", (await files.glob("**")).length, "files");
