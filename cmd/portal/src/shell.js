// What stands around every page: the menu, who is signed in, and whether the head answers.
import { useEffect, useRef } from 'preact/hooks';
import { reachable } from './api.js';
import { html } from './html.js';
import { Outdated } from './outdated.js';
import { pages } from './pages.js';
import { address, route } from './route.js';
import { may, session, signOut } from './session.js';
import { useSubject } from './subject.js';

function Menu({ open, here }) {
	return html`<nav aria-label="Pages"><ul>
		${open.map((p) => html`<li key=${p.name}><a href=${address(p.name)} aria-current=${p === here ? 'page' : undefined}>${p.title}</a></li>`)}
	</ul></nav>`;
}

function Person() {
	const { who, byCertificate } = session.value;
	return html`<div class="person"><span title=${who.roles.join(', ')}>${who.identity}</span>
		${!byCertificate && html`<button type="button" onClick=${signOut}>Sign out</button>`}</div>`;
}

// The reader of a screen reader and who uses the keyboard begin where the page begins.
function useFocusOnPage(main, name) {
	const first = useRef(true);
	useEffect(() => {
		if (!first.current)
			main.current?.focus();
		first.current = false;
	}, [name]);
}

export function Shell() {
	const at = useSubject(route);
	const there = useSubject(reachable);
	const main = useRef(null);
	const open = pages.filter((p) => may(p.right));
	const here = open.find((p) => p.name === at.page) ?? open[0];
	useFocusOnPage(main, here.name);
	document.title = `${here.title} · Phoenix`;
	return html`<a class="skip" href="#content" onClick=${(e) => { e.preventDefault(); main.current.focus(); }}>To the page</a>
		<header><span class="brand">Phoenix</span><${Menu} open=${open} here=${here} /><${Person} /></header>
		${!there && html`<p class="away" role="alert">The head does not answer. What you see is of before; this page goes on as soon as it is back.</p>`}
		<${Outdated} />
		<main id="content" tabindex="-1" ref=${main}><${here.view} item=${at.item} key=${here.name} /></main>`;
}
