/** Ten calls through the client that hey-api generates; copied beside it, compiled and run by clients.test.ts. */
import { client } from "./hey/client.gen.ts";
import * as barid from "./hey/sdk.gen.ts";

client.setConfig({ baseUrl: process.env.BARID_URL!, auth: () => process.env.BARID_TOKEN! });

const me = await barid.getTenantsMe();
const deliveries = await barid.getDeliveryDeliveries({ query: { limit: 5 } });
const first: number | undefined = deliveries.data?.data[0]?.delivery_code;
const made = await barid.postDeliveryDeliveryTypes({ body: { code: "hey", name: "Hey" } });
const refused = await barid.postDeliveryCodCollectionsRemit({ body: { scope: "selected" } });
const answers = [
  me,
  deliveries,
  made,
  refused,
  await barid.getDeliveryServices({ query: { page: 1 } }),
  await barid.getDeliveryZones(),
  await barid.getDeliveryCodCollections({ query: { status: "collected" } }),
  await barid.getWarehousingWarehouses(),
  await barid.getWarehousingInventory({ query: { limit: 1 } }),
  await barid.getTenantsMeNotifications(),
];
console.log(JSON.stringify({
  statuses: answers.map(({ response }) => response?.status),
  user: me.data?.user.id,
  first: typeof first,
  code: refused.error?.code,
}));
