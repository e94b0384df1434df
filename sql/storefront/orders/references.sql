-- Foreign keys to an order from tables that are built before it.
do $$
begin
  if not exists (select from pg_constraint where conname = 'payment_order' and conrelid = 'money.payments'::regclass) then
    alter table money.payments add constraint payment_order
      foreign key (tenant_id, order_id) references storefront.storefront_orders (tenant_id, id) on delete restrict;
    alter table delivery.deliveries add constraint delivery_of_order
      foreign key (tenant_id, order_id) references storefront.storefront_orders (tenant_id, id) on delete restrict;
    alter table warehousing.picking_orders add constraint pick_of_order
      foreign key (tenant_id, order_id) references storefront.storefront_orders (tenant_id, id) on delete restrict;
  end if;
end $$;
