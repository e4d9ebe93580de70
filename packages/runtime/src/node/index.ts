export { fileOverrides } from "./file-overrides.ts";
export { hostFilesystem, type HostFilesystemOptions } from "./host-filesystem.ts";
