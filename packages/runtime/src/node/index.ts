export { hostFilesystem } from "./host-filesystem.ts";
export { fileOverrides } from "./file-overrides.ts";
