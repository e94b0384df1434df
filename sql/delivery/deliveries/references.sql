do $$
begin
  if not exists (select from pg_constraint where conname = 'item_order' and conrelid = 'delivery.transfer_manifest_items'::regclass) then
    alter table delivery.transfer_manifest_items add constraint item_order
      foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict;
    alter table money.payments add constraint payment_delivery
      foreign key (tenant_id, delivery_id) references delivery.deliveries (tenant_id, id) on delete restrict;
  end if;
end $$;
