// How far a run, or a level of it, is: a bar with a part for each state that its tasks are in.
import { taskStates } from './flow_states.js';
import { html } from './html.js';

const ORDER = ['done', 'running', 'failed', 'ready', 'skipped', 'waiting'];

// of: { n_done, n_running, ... } or { done, running, ... }; for a reader in words.
export function Progress({ of }) {
	const parts = taskStates.map((s) => ({ ...s, n: of[`n_${s.name}`] ?? of[s.name] ?? 0 })).filter((s) => s.n);
	const said = parts.map((s) => `${s.n} ${s.name}`).join(', ');
	return html`<span class="parts" role="img" aria-label=${said} title=${said}>
		${ORDER.map((name) => parts.find((s) => s.name === name)).filter(Boolean)
			.map((s) => html`<span key=${s.name} class=${`part ${s.name}`} style=${{ flexGrow: s.n }}></span>`)}</span>`;
}
