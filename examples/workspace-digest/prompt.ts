import { definePrompt } from "@proviso/core";
import { filesystemTools, workspaceDigest } from "@proviso/toolkit";

export const maintainer = definePrompt({
  ns: "examples",
  key: "maintainer",
  sections: [
    { key: "files", title: "Files", text: "Work in this folder.", tools: filesystemTools({ readOnly: true }) },
    workspaceDigest(),
    { key: "question", text: "What is this folder for?", role: "user" },
  ],
});
