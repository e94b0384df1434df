import { afterAll, beforeAll, expect, test } from "vitest";
import { client, signedIn, temporaryStack } from "./support.ts";

let rig: Awaited<ReturnType<typeof temporaryStack>>;
let mine: Awaited<ReturnType<typeof signedIn>>;
let other: Awaited<ReturnType<typeof signedIn>>;
const pdf = (text = "%PDF-1.7") => new Blob([text], { type: "application/pdf" });

beforeAll(async () => {
  rig = await temporaryStack();
  await rig.stack.sql.unsafe(`create policy own_folder on storage.objects for all to authenticated
    using ((storage.foldername(name))[1] = auth.uid()::text)
    with check ((storage.foldername(name))[1] = auth.uid()::text)`);
  mine = await signedIn(rig.stack, "mine@example.com");
  other = await signedIn(rig.stack, "other@example.com");
});
afterAll(() => rig.close());

test("a file goes up, is listed, comes down, and is gone after deleting", async () => {
  const labels = mine.app.storage.from("labels");
  const path = `${mine.user!.id}/sub folder/one.pdf`;
  expect((await labels.upload(path, pdf("%PDF one"))).error).toBeNull();
  expect((await labels.list(`${mine.user!.id}/sub folder`)).data).toMatchObject([
    { name: "one.pdf", metadata: { size: 8, mimetype: "application/pdf" } },
  ]);
  expect((await labels.list(mine.user!.id)).data).toMatchObject([{ name: "sub folder", id: null }]);
  expect(await (await labels.download(path)).data!.text()).toBe("%PDF one");
  expect((await labels.upload(path, pdf())).error).toMatchObject({ statusCode: "409" });
  expect((await labels.upload(path, pdf("%PDF two"), { upsert: true })).error).toBeNull();
  expect(await (await labels.download(path)).data!.text()).toBe("%PDF two");
  expect((await labels.remove([path])).data).toHaveLength(1);
  expect((await labels.download(path)).error).not.toBeNull();
});

test("bytes that are no form are stored as they are", async () => {
  const labels = mine.app.storage.from("labels");
  const path = `${mine.user!.id}/raw.pdf`;
  const bytes = Uint8Array.from({ length: 70_000 }, (_, index) => index % 251);
  expect((await labels.upload(path, bytes, { contentType: "application/pdf" })).error).toBeNull();
  expect(new Uint8Array(await (await labels.download(path)).data!.arrayBuffer())).toEqual(bytes);
});

test("policies decide: another user's folder is neither written, read, linked nor deleted", async () => {
  const path = `${mine.user!.id}/private.pdf`;
  await mine.app.storage.from("labels").upload(path, pdf());
  const stranger = other.app.storage.from("labels");
  expect((await stranger.upload(`${mine.user!.id}/planted.pdf`, pdf())).error).toMatchObject({
    statusCode: "403",
  });
  expect((await stranger.upload(path, pdf("x"), { upsert: true })).error).toMatchObject({
    statusCode: "403",
  });
  expect((await stranger.download(path)).error).not.toBeNull();
  expect((await stranger.createSignedUrl(path, 60)).error).toMatchObject({ statusCode: "404" });
  expect((await stranger.createSignedUploadUrl(path)).error).not.toBeNull();
  expect((await stranger.list(mine.user!.id)).data).toEqual([]);
  expect((await stranger.remove([path])).data).toEqual([]);
  expect((await client(rig.stack).storage.from("labels").download(path)).error).not.toBeNull();
  expect((await mine.app.storage.from("labels").download(path)).error).toBeNull();
});

test("a signed link reads one file without signing in, until it expires", async () => {
  const labels = mine.app.storage.from("labels");
  const path = `${mine.user!.id}/linked.pdf`;
  await labels.upload(path, pdf("%PDF linked"));
  const { data } = await labels.createSignedUrl(path, 60);
  expect(await (await fetch(data!.signedUrl)).text()).toBe("%PDF linked");
  expect((await fetch(data!.signedUrl.replace("linked.pdf", "private.pdf"))).status).toBe(400);
  const expired = await labels.createSignedUrl(path, -1);
  expect((await fetch(expired.data!.signedUrl)).status).toBe(400);
});

test("a signed upload link writes once, and a reading link writes nothing", async () => {
  const labels = mine.app.storage.from("labels");
  const path = `${mine.user!.id}/uploaded.pdf`;
  const { data } = await labels.createSignedUploadUrl(path);
  const anyone = client(rig.stack).storage.from("labels");
  expect((await anyone.uploadToSignedUrl(path, data!.token, pdf("%PDF up"))).error).toBeNull();
  expect(await (await labels.download(path)).data!.text()).toBe("%PDF up");
  expect((await anyone.uploadToSignedUrl(path, data!.token, pdf())).error).toMatchObject({
    statusCode: "409",
  });
  const reading = new URL((await labels.createSignedUrl(path, 60)).data!.signedUrl).searchParams
    .get("token")!;
  expect((await anyone.uploadToSignedUrl(path, reading, pdf())).error).not.toBeNull();
});

test("the buckets of config.toml hold their size and type limits, also against the secret key", async () => {
  const labels = client(rig.stack, rig.stack.secretKey).storage.from("labels");
  const tooBig = new Blob([new Uint8Array(20 * 1024 * 1024 + 1)], { type: "application/pdf" });
  expect((await labels.upload("big.pdf", tooBig)).error).toMatchObject({ statusCode: "413" });
  expect((await labels.upload("a.txt", new Blob(["a"], { type: "text/plain" }))).error)
    .toMatchObject({ statusCode: "415" });
});
