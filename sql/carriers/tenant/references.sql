do $$
begin
  if not exists (select from pg_constraint where conname = 'account_of_carrier' and conrelid = 'money.accounts'::regclass) then
    alter table money.accounts add constraint account_of_carrier
      foreign key (carrier_code) references integration.carriers (code) on delete restrict;
  end if;
end $$;
