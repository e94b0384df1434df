import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Works with a file that nobody else can read and that is gone afterwards: other programs can read a command line. */
export async function withPrivateFile(
  name: string,
  text: string,
  work: (path: string) => Promise<unknown>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "barid-deploy-"));
  try {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    await work(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
