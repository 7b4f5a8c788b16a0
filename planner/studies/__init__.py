"""Questions beside the main one: feasibility, ridgelines, racks, goodput.

Each folder reads its question, answers it and keeps the records of its answer; pictures and tables
are in `report`. Studies import `evidence` and what lies below; of another study only `rack.model`,
for its workloads. Begin with the folder of the command.
"""
