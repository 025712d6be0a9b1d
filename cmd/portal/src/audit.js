// For auditors: what the journal holds, what proves it, and the attestations of erases.
import { Attestations } from './attestations.js';
import { Chain } from './chain.js';
import { html } from './html.js';
import { JournalSearch } from './journal_search.js';
import { address } from './route.js';

const parts = [
	{ name: 'journal', title: 'Journal', view: JournalSearch }, { name: 'chain', title: 'What proves it', view: Chain },
	{ name: 'erasures', title: 'Attestations', view: Attestations },
];

export function Audit({ item }) {
	const here = parts.find((p) => p.name === item) ?? parts[0];
	return html`<div class="timeline"><div class="bar"><h1>Audit</h1><nav class="parts" aria-label="Parts of the audit"><ul>
			${parts.map((p) => html`<li key=${p.name}><a href=${address('audit', p.name)} aria-current=${p === here ? 'page' : undefined}>${p.title}</a></li>`)}</ul></nav></div>
		<${here.view} /></div>`;
}
