/** A branch that is closed while somebody sends to it: either what goes there comes first, or the closing. */
import { beforeAll, expect, test } from "vitest";
import { newBranch } from "../../support/make.ts";
import { manifestRequest, newBarcode, newManifest } from "../../support/manifests.ts";
import { overlapping } from "../../support/overlapping.ts";
import { branchesOf, branchRow } from "../../support/network.ts";
import {
  changeDestination,
  type Destination,
  newDestination,
  ordered,
  requestTo,
  setDestination,
} from "../../support/set-destination.ts";

const manifests = "/delivery/transfer-manifests";
let made: Destination;
beforeAll(async () => {
  made = await newDestination();
});

/** The answer of a call that comes while the closing of this branch waits for its commit. */
const whileClosing = <Answer>(branch: string, call: () => Promise<Answer>) =>
  overlapping(async (session) => {
    await session`select from delivery.institution_branches where id = ${branch} for update`;
    await session`update delivery.institution_branches
      set is_active = false, deactivated_at = now() where id = ${branch}`;
  }, call);

const close = (branch: string) =>
  made.tenant.ops.post(`${branchesOf(made.tenant.institution.id, branch)}/deactivate`, {});

const sent = {
  "a manifest": (to: string) =>
    made.tenant.ops.post(
      manifests,
      manifestRequest(made.tenant, made.branch, { destination_branch_id: to }),
    ),
  "a parcel": (to: string) =>
    made.tenant.ops.post(
      manifests,
      manifestRequest(made.tenant, made.branch, {
        items: [{ barcode_value: newBarcode(), destination_branch_id: to }],
      }),
    ),
};

test.for(Object.entries(sent))(
  "%s to a branch that is closed first is refused",
  async ([, send]) => {
    const to = await newBranch(made.tenant);
    expect(await whileClosing(to, () => send(to))).toFailWith(409, "branch_inactive");
  },
);

test.for(Object.entries(sent))("%s that is made first keeps its branch open", async ([, send]) => {
  const to = await newBranch(made.tenant);
  expect(await send(to)).toSucceed(201);
  expect(await close(to)).toFailWith(409, "branch_in_use");
  expect((await branchRow(to)).is_active).toBe(true);
});

test("parcels that are received get no order to it", async () => {
  const to = await newBranch(made.tenant);
  const { itemIds } = await newManifest(made.tenant, { items: 2 });
  const answer = await whileClosing(
    to,
    () => made.tenant.dispatcher.post(setDestination, requestTo({ ...made, branch: to })(itemIds)),
  );
  expect(answer.body.data.failed).toMatchObject(
    itemIds.map((item_id) => ({ item_id, error_key: "branch_not_found" })),
  );
  expect(answer.body.data.created).toEqual([]);
});

test("orders are not changed to go there", async () => {
  const to = await newBranch(made.tenant);
  const { itemIds } = await ordered(made, 2);
  const answer = await whileClosing(
    to,
    () =>
      made.tenant.dispatcher.post(changeDestination, {
        item_ids: itemIds,
        destination_branch_id: to,
      }),
  );
  expect(answer.body.data.failed).toMatchObject(
    itemIds.map((item_id) => ({ item_id, error_key: "branch_not_found" })),
  );
  expect(answer.body.data.changed).toEqual([]);
});
