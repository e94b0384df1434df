// Run by `medusa exec`: a shop of as many products as ours, and what its clients have to know of it.
const { writeFileSync } = require("node:fs");
const { ContainerRegistrationKeys, Modules } = require("@medusajs/framework/utils");
const flows = require("@medusajs/medusa/core-flows");

const count = Number(process.env.BENCH_PRODUCTS);
const scarce = Number(process.env.BENCH_SCARCE);

exports.default = async function seed({ container }) {
  const link = container.resolve(ContainerRegistrationKeys.LINK);
  const run = async (flow, input) => (await flow(container).run({ input })).result;

  const [channel] = await run(flows.createSalesChannelsWorkflow, {
    salesChannelsData: [{ name: "bench" }],
  });
  const [key] = await run(flows.createApiKeysWorkflow, {
    api_keys: [{ title: "bench", type: "publishable", created_by: "" }],
  });
  await run(flows.linkSalesChannelsToApiKeyWorkflow, { id: key.id, add: [channel.id] });
  const [region] = await run(flows.createRegionsWorkflow, {
    regions: [{
      name: "Iraq",
      currency_code: "iqd",
      countries: ["iq"],
      payment_providers: ["pp_system_default"],
    }],
  });
  await run(flows.createTaxRegionsWorkflow, [{ country_code: "iq", provider_id: "tp_system" }]);

  const [location] = await run(flows.createStockLocationsWorkflow, {
    locations: [{
      name: "bench",
      address: { city: "Baghdad", country_code: "IQ", address_1: "Street 1" },
    }],
  });
  const stocked = { [Modules.STOCK_LOCATION]: { stock_location_id: location.id } };
  await link.create({
    ...stocked,
    [Modules.FULFILLMENT]: { fulfillment_provider_id: "manual_manual" },
  });
  const [profile] = await run(flows.createShippingProfilesWorkflow, {
    data: [{ name: "bench", type: "default" }],
  });
  const set = await container.resolve(Modules.FULFILLMENT).createFulfillmentSets({
    name: "bench",
    type: "shipping",
    service_zones: [{ name: "Iraq", geo_zones: [{ country_code: "iq", type: "country" }] }],
  });
  await link.create({ ...stocked, [Modules.FULFILLMENT]: { fulfillment_set_id: set.id } });
  const [option] = await run(flows.createShippingOptionsWorkflow, [{
    name: "Standard",
    price_type: "flat",
    provider_id: "manual_manual",
    service_zone_id: set.service_zones[0].id,
    shipping_profile_id: profile.id,
    type: { label: "Standard", description: "-", code: "standard" },
    prices: [{ currency_code: "iqd", amount: 1000 }],
    rules: [
      { attribute: "enabled_in_store", value: "true", operator: "eq" },
      { attribute: "is_return", value: "false", operator: "eq" },
    ],
  }]);
  await run(flows.linkSalesChannelsToStockLocationWorkflow, {
    id: location.id,
    add: [channel.id],
  });

  const products = await run(flows.createProductsWorkflow, {
    products: Array.from({ length: count }, (_, i) => ({
      title: `Product ${i}`,
      description: "One of many",
      status: "published",
      shipping_profile_id: profile.id,
      options: [{ title: "Size", values: ["One"] }],
      variants: [{
        title: "One",
        sku: `BENCH-${i}`,
        options: { Size: "One" },
        manage_inventory: true,
        prices: [{ amount: 5000, currency_code: "iqd" }],
      }],
      sales_channels: [{ id: channel.id }],
    })),
  });
  const items = await container.resolve(Modules.INVENTORY).listInventoryItems({}, {
    take: count,
    select: ["id", "sku"],
  });
  await run(flows.createInventoryLevelsWorkflow, {
    inventory_levels: items.map(({ id, sku }) => ({
      location_id: location.id,
      inventory_item_id: id,
      stocked_quantity: sku === `BENCH-${count - 1}` ? scarce : 1_000_000,
    })),
  });

  const variants = new Map(products.map(({ variants: [one] }) => [one.sku, one.id]));
  writeFileSync(
    process.env.BENCH_SEEDED,
    JSON.stringify({
      key: key.token,
      region: region.id,
      option: option.id,
      variants: Array.from({ length: count }, (_, i) => variants.get(`BENCH-${i}`)),
    }),
  );
};
