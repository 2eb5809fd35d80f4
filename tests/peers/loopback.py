"""Loopback configuration of the DDS library, shared by the Python peers. No thenar here."""

CONFIG = """<CycloneDDS><Domain Id="any"><General><AllowMulticast>false</AllowMulticast>
<Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>
<Peers><Peer address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>"""
