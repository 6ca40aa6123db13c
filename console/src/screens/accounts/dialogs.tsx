import { useMutation, useQueryClient } from "@tanstack/solid-query";
import { useNavigate } from "@tanstack/solid-router";
import { createSignal, type JSX, Show } from "solid-js";
import { ApiError, change } from "../../api/client.ts";
import { Button, type ButtonKind } from "../../design/button.tsx";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { SelectField, TextField } from "../../design/field.tsx";
import ui from "../../design/ui.module.css";
import { Money } from "../../design/values.tsx";
import styles from "./accounts.module.css";
import { type Account, closeAccount, type Key, renameAccount } from "./types.ts";

interface DialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Reads accounts and keys anew, wherever they are shown. */
export function useReadAnew(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all(
      [["accounts"], ["keys"], ["names"], ["ledger"]].map((queryKey) =>
        queries.invalidateQueries({ queryKey }),
      ),
    );
  };
}

/** A dialog with a form that changes something and closes once that is done. */
function ActionDialog(
  props: DialogProps & {
    readonly title: string;
    readonly action: string;
    readonly kind?: ButtonKind;
    readonly isReady?: boolean;
    /** Fields that say their faults themselves. */
    readonly fields?: readonly string[];
    readonly run: () => Promise<unknown>;
    readonly children: (faultOf: (field: string) => string | undefined) => JSX.Element;
  },
) {
  const readAnew = useReadAnew();
  const running = useMutation(() => ({
    mutationFn: () => props.run(),
    onSuccess() {
      void readAnew();
      close();
    },
  }));
  const close = (): void => {
    running.reset();
    props.onClose();
  };
  const fieldOf = (): string | undefined =>
    running.error instanceof ApiError ? running.error.field : undefined;
  const faultOf = (field: string): string | undefined =>
    fieldOf() === field ? running.error?.message : undefined;
  const isElsewhere = (): boolean =>
    running.error !== null && props.fields?.includes(fieldOf() ?? "") !== true;
  return (
    <Dialog title={props.title} open={props.open} onClose={close}>
      <form
        class={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          running.mutate();
        }}
      >
        {props.children(faultOf)}
        <Show when={isElsewhere()}>
          <p role="alert" class={ui.fault}>
            {running.error?.message}
          </p>
        </Show>
        <DialogActions>
          <Button onClick={close}>Cancel</Button>
          <Button
            kind={props.kind ?? "primary"}
            type="submit"
            disabled={running.isPending || props.isReady === false}
          >
            {props.action}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** Opens an account and leads to its page. */
export function NewAccountDialog(props: DialogProps) {
  const navigate = useNavigate();
  const [name, setName] = createSignal("");
  return (
    <ActionDialog
      {...props}
      title="Create an account"
      action="Create"
      fields={["name"]}
      run={async () => {
        const { id } = await change("post", "/admin/v1/accounts", { body: { name: name().trim() } });
        setName("");
        void navigate({ to: "/accounts/$id", params: { id } });
      }}
    >
      {(faultOf) => (
        <TextField
          label="Name"
          required
          maxlength={200}
          hint="Who pays: a customer, a team, a project. It begins with nothing on it."
          value={name()}
          onInput={(event) => setName(event.currentTarget.value)}
          fault={faultOf("name")}
        />
      )}
    </ActionDialog>
  );
}

/** Changes an account's name. */
export function RenameDialog(props: DialogProps & { readonly account: Account }) {
  const [name, setName] = createSignal(props.account.name);
  return (
    <ActionDialog
      {...props}
      title="Rename the account"
      action="Save"
      fields={["name"]}
      run={() => renameAccount(props.account.id, name().trim())}
    >
      {(faultOf) => (
        <TextField
          label="Name"
          required
          maxlength={200}
          value={name()}
          onInput={(event) => setName(event.currentTarget.value)}
          fault={faultOf("name")}
        />
      )}
    </ActionDialog>
  );
}

/** Gives an account credit, or takes it back. A second try after a lost answer does it once. */
export function CreditDialog(props: DialogProps & { readonly account: Account }) {
  const [way, setWay] = createSignal<"give" | "take">("give");
  const [amount, setAmount] = createSignal("");
  const [reason, setReason] = createSignal("");
  const [once, setOnce] = createSignal(token());
  const signed = (): number => (way() === "give" ? 1 : -1) * Number(amount());
  const isClosed = (): boolean => props.account.status === "closed";
  return (
    <ActionDialog
      {...props}
      title={`Credit of ${props.account.name}`}
      action={way() === "give" ? "Give credit" : "Take back"}
      isReady={Number(amount()) > 0}
      fields={["amount", "reason"]}
      run={async () => {
        const body = { amount: signed(), reason: reason().trim(), idempotency_key: once() };
        await change("post", "/admin/v1/accounts/{id}/credits", { path: { id: props.account.id }, body });
        setAmount("");
        setReason("");
        setOnce(token());
      }}
    >
      {(faultOf) => (
        <>
          <div class={styles.pair}>
            <SelectField
              label="What to do"
              onChange={(event) => {
                setWay(event.currentTarget.value === "take" ? "take" : "give");
                setOnce(token());
              }}
            >
              <option value="give" disabled={isClosed()} selected={way() === "give"}>
                Give credit
              </option>
              <option value="take" selected={way() === "take"}>
                Take credit back
              </option>
            </SelectField>
            <TextField
              label="Credits"
              type="number"
              required
              min="0.000001"
              step="any"
              value={amount()}
              onInput={(event) => {
                setAmount(event.currentTarget.value);
                setOnce(token());
              }}
              hint="10,000 credits are 1 USD."
              fault={faultOf("amount")}
            />
          </div>
          <TextField
            label="Reason"
            required
            maxlength={500}
            hint="It stands in the ledger."
            value={reason()}
            onInput={(event) => {
              setReason(event.currentTarget.value);
              setOnce(token());
            }}
            fault={faultOf("reason")}
          />
          <p role="status">
            The balance is now <Money credits={props.account.balance} />; then{" "}
            <Money credits={props.account.balance + signed()} />.
          </p>
        </>
      )}
    </ActionDialog>
  );
}

/** Closes an account for ever, once its name was typed. */
export function CloseDialog(props: DialogProps & { readonly account: Account }) {
  const [typed, setTyped] = createSignal("");
  return (
    <ActionDialog
      {...props}
      title={`Close ${props.account.name}`}
      action="Close for ever"
      kind="danger"
      isReady={typed().trim() === props.account.name.trim()}
      run={() => closeAccount(props.account.id)}
    >
      {() => (
        <>
          <p>This cannot be taken back.</p>
          <ul class={styles.list}>
            <li>All its keys end at once.</li>
            <li>Its tasks that wait are cancelled; requests and tasks that run end, and are charged.</li>
            <li>
              Its ledger stays. The balance of <Money credits={props.account.balance} /> stays in it, and can
              still be taken back.
            </li>
          </ul>
          <TextField
            label={`Type the name “${isolated(props.account.name)}” to confirm`}
            autocomplete="off"
            value={typed()}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </>
      )}
    </ActionDialog>
  );
}

/** A name within a sentence, whose letters turn no others around (U+2068, U+2069). */
function isolated(name: string): string {
  return `\u2068${name}\u2069`;
}

/** Revokes a key for ever. */
export function RevokeDialog(props: DialogProps & { readonly present: Key }) {
  return (
    <ActionDialog
      {...props}
      title={`Revoke ${props.present.name}`}
      action="Revoke for ever"
      kind="danger"
      run={() => change("delete", "/admin/v1/keys/{id}", { path: { id: props.present.id } })}
    >
      {() => (
        <p>
          Calls with <code>{props.present.hint}</code> are refused from now on, and sessions of this console
          that were opened with it end. This cannot be taken back; what the key has spent stays in the lists.
        </p>
      )}
    </ActionDialog>
  );
}

/** A text that no other change has. */
function token(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
